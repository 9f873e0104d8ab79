"""The Adapter's database: tables, stores, unit of work, migrations. Made by bootstrap, called through ports."""
