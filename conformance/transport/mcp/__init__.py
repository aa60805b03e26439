"""MCP, spoken directly: frames in bytes over streamable HTTP or a child's standard streams, without an SDK."""
