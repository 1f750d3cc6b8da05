CREATE TABLE `removed_deliveries` (
	`application_id` text PRIMARY KEY NOT NULL,
	`up_to` integer NOT NULL,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
-- What was removed before this was kept: all that is older than the first delivery that is left.
INSERT INTO `removed_deliveries` (`application_id`, `up_to`)
SELECT `id`, coalesce((SELECT min(`seq`) - 1 FROM `deliveries`), (SELECT max(`first_delivery` + `deliveries` - 1) FROM `events`), 0)
FROM `applications`;
