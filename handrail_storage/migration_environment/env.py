"""What alembic runs for every migration of every service; `handrail_storage.migrations` hands in the connection."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    # SQLite's DDL is transactional once the driver's own transactions are off: all migrations land, or none.
    transactional_ddl=True,
    render_as_batch=True,
)
context.run_migrations()
