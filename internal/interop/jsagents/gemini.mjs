// Asks for a transfer through a remote agent of Gemini CLI: node gemini.mjs PAYEE
import { A2AClientManager } from '@google/gemini-cli-core/dist/src/agents/a2a-client-manager.js';
import { RemoteAgentInvocation } from '@google/gemini-cli-core/dist/src/agents/remote-invocation.js';

const clients = new A2AClientManager({ getProxy: () => undefined });
const bank = {
  kind: 'remote', name: 'bank', agentCardUrl: `${process.env.SERVER}/.well-known/agent-card.json`,
  auth: { type: 'apiKey', key: process.env.API_KEY, name: 'X-API-Key' },
};
const call = new RemoteAgentInvocation(bank, { config: { getA2AClientManager: () => clients } }, { query: `/transfer_money amount=5 to=${process.argv[2]}` });
console.log((await call.execute({ abortSignal: new AbortController().signal })).llmContent[0].text);
