"""An MCP server over stdio whose tool asks a question while its call runs (ctx.elicit)."""

import json
import os

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel, Field

server = MCPServer("book")


class Seat(BaseModel):
    """What the tool asks for."""

    row: int = Field(ge=1, le=30)
    window: bool = False


@server.tool()
async def book(to: str, ctx: Context) -> dict[str, int | bool | str]:
    """Books a seat."""
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"asks": to}) + "\n")
    got = await ctx.elicit(message=f"Which seat to {to}?", schema=Seat)
    if got.action != "accept":
        return {"to": to, "booked": got.action}
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"books": to, "row": got.data.row}) + "\n")
    return {"to": to, "row": got.data.row, "window": got.data.window}


if __name__ == "__main__":
    server.run(transport="stdio")
