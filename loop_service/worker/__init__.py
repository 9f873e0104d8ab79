"""Background work: claims queued runs, renews leases, fires timers."""
