// Does one operation with the official JavaScript client, found through the agent
// card:
//
//   node drive.mjs URL BINDING VERSION KEY OPERATION REQUEST
//
// BINDING is JSONRPC or HTTP+JSON, VERSION that of A2A, KEY an API key or "", REQUEST the
// JSON of the operation's request. What
// the client returns is written as JSON, one value for a call, one for each event of
// a stream. An error of the server is written as {"refused": {...}}, and the exit
// code is 1 then.
import {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { A2AError } from '@a2a-js/sdk/errors';

const [url, binding, version, key, operation, request] = process.argv.slice(2);

const fetchImpl = (to, init = {}) => {
  const headers = new Headers(init.headers);
  if (key) headers.set('X-API-Key', key);
  return fetch(to, { ...init, headers });
};
const legacyCompat = { enabled: version === '0.3' };

// One transport only, so that the client cannot fall back on another.
const options = { fetchImpl, legacyCompat };
const transports = [binding === 'JSONRPC' ? new JsonRpcTransportFactory(options) : new RestTransportFactory(options)];

const operations = {
  card: async () => [AgentCard.toJSON(card)],
  extended: async (client) => [AgentCard.toJSON(await client.getAgentCard())], // if there is one
  send: async (client, json) => {
    const result = await client.sendMessage(SendMessageRequest.fromJSON(json));
    return ['messageId' in result ? { message: Message.toJSON(result) } : { task: Task.toJSON(result) }];
  },
  get: async (client, json) => [Task.toJSON(await client.getTask(GetTaskRequest.fromJSON(json)))],
  list: async (client, json) => [
    ListTasksResponse.toJSON(await client.listTasks(ListTasksRequest.fromJSON(json))),
  ],
  cancel: async (client, json) => [Task.toJSON(await client.cancelTask(CancelTaskRequest.fromJSON(json)))],
  stream: (client, json) => events(client.sendMessageStream(SendMessageRequest.fromJSON(json))),
  subscribe: (client, json) => events(client.resubscribeTask(SubscribeToTaskRequest.fromJSON(json))),
};

async function* events(stream) {
  for await (const event of stream) yield StreamResponse.toJSON(event);
}

// Who says 1.0, as this client does, is told of nothing else.
const fetchCard = (to, init) => fetchImpl(to, version === '0.3' ? {} : init);
const card = await new DefaultAgentCardResolver({ fetchImpl: fetchCard }).resolve(url);
const write = (value) => process.stdout.write(JSON.stringify(value) + '\n');

try {
  // Of what the card offers, that of the version only.
  const supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolVersion.startsWith(version));
  const client = await new ClientFactory({ transports }).createFromAgentCard({ ...card, supportedInterfaces });
  for await (const value of await operations[operation](client, JSON.parse(request))) write(value);
} catch (error) {
  // What a JSON-RPC stream refuses comes wrapped.
  const refused = error.cause instanceof A2AError ? error.cause : error;
  if (!(refused instanceof A2AError)) throw error;
  const { reason, message, metadata, data } = refused;
  write({ refused: { reason, message, metadata, data } });
  process.exitCode = 1;
}
