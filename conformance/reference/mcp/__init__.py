"""The reference server speaks MCP: over streamable HTTP beside the plain HTTP binding, and over stdio."""
