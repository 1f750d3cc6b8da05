-- Nothing changes but what a body of an event may be: packed, which earlier versions cannot read.
SELECT 1;
