// Tables of events, their deliveries and attempts, endpoints and replays.
