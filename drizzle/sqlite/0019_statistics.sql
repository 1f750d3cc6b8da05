CREATE TABLE `statistics` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`period` text NOT NULL,
	`at` integer NOT NULL,
	`counts` text NOT NULL,
	`durations` text NOT NULL,
	PRIMARY KEY(`kind`, `subject`, `period`, `at`)
);
--> statement-breakpoint
CREATE INDEX `statistics_period` ON `statistics` (`period`,`at`);