// A tool in TypeScript: an MCP server over stdio, with @modelcontextprotocol/sdk.
//
// It knows nothing about approvals. The server that offers it asks before it runs.

import { appendFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const ledger = process.env.LEDGER ?? "ledger.jsonl";
const server = new McpServer({ name: "pay", version: "1.0.0" });

server.registerTool(
  "pay",
  {
    description: "Pays an amount to somebody.",
    inputSchema: { to: z.string(), amount: z.number().int() },
    outputSchema: { to: z.string(), amount: z.number() },
  },
  ({ to, amount }) => {
    appendFileSync(ledger, JSON.stringify({ to, amount }) + "\n");
    const paid = { to, amount };
    return { content: [{ type: "text", text: JSON.stringify(paid) }], structuredContent: paid };
  },
);

await server.connect(new StdioServerTransport());
