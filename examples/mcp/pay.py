"""A tool in Python: an MCP server over stdio, with the mcp package.

It knows nothing about approvals. The server that offers it asks before it runs.
"""

import json
import os

from mcp.server.mcpserver import MCPServer

server = MCPServer("pay")


@server.tool()
def pay(to: str, amount: int) -> dict[str, int | str]:
    """Pays an amount to somebody."""
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"to": to, "amount": amount}) + "\n")
    return {"to": to, "amount": amount}


if __name__ == "__main__":
    server.run(transport="stdio")
