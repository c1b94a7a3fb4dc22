// Does operations with the official JavaScript client, found through the agent card:
//
//   node drive.mjs URL BINDING VERSION KEY
//
// BINDING is JSONRPC, HTTP+JSON or GRPC, VERSION that of A2A, KEY an API key or "". What it
// reads and writes is described in driven_test.go.
import { createInterface } from 'node:readline';
import { InterceptingCall } from '@grpc/grpc-js';
import {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import { A2AError } from '@a2a-js/sdk/errors';

const [firstURL, binding, version, key] = process.argv.slice(2);

const fetchImpl = (to, init = {}) => {
  const headers = new Headers(init.headers);
  if (key) headers.set('X-API-Key', key);
  return fetch(to, { ...init, headers });
};
const keyed = (options, next) =>
  new InterceptingCall(next(options), {
    start(metadata, listener, start) {
      if (key) metadata.set('x-api-key', key);
      start(metadata, listener);
    },
  });
const legacyCompat = { enabled: version === '0.3' };

// One transport only, so that the client cannot fall back on another.
const transport = {
  'JSONRPC': () => new JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
  'HTTP+JSON': () => new RestTransportFactory({ fetchImpl, legacyCompat }),
  'GRPC': () => new GrpcTransportFactory({ grpcCallOptions: { interceptors: [keyed] }, legacyCompat }),
}[binding]();

// Who says 1.0, as this client does, is told of nothing else.
const fetchCard = (to, init) => fetchImpl(to, version === '0.3' ? {} : init);
const resolve = (url) => new DefaultAgentCardResolver({ fetchImpl: fetchCard }).resolve(url);

async function connect(url) {
  const card = await resolve(url);
  // Of what the card offers, that of the version only.
  const supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolVersion.startsWith(version));
  const client = await new ClientFactory({ transports: [transport] }).createFromAgentCard({ ...card, supportedInterfaces });
  return { url, client };
}
let to = await connect(firstURL);

const operations = {
  move: async ({ url }) => void (to = await connect(url)),
  card: async () => AgentCard.toJSON(await resolve(to.url)),
  extended: async () => AgentCard.toJSON(await to.client.getAgentCard()), // if there is one
  send: async (json, options) => {
    const result = await to.client.sendMessage(SendMessageRequest.fromJSON(json), options);
    return 'messageId' in result ? { message: Message.toJSON(result) } : { task: Task.toJSON(result) };
  },
  get: async (json, options) => Task.toJSON(await to.client.getTask(GetTaskRequest.fromJSON(json), options)),
  list: async (json, options) => ListTasksResponse.toJSON(await to.client.listTasks(ListTasksRequest.fromJSON(json), options)),
  cancel: async (json, options) => Task.toJSON(await to.client.cancelTask(CancelTaskRequest.fromJSON(json), options)),
  'set webhook': async (json, options) =>
    TaskPushNotificationConfig.toJSON(await to.client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(json), options)),
  'get webhook': async (json, options) =>
    TaskPushNotificationConfig.toJSON(await to.client.getTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest.fromJSON(json), options)),
  'list webhooks': async (json, options) =>
    ListTaskPushNotificationConfigsResponse.toJSON(
      await to.client.listTaskPushNotificationConfig(ListTaskPushNotificationConfigsRequest.fromJSON(json), options),
    ),
  'delete webhook': async (json, options) =>
    to.client.deleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest.fromJSON(json), options),
};
const streams = {
  stream: (json, options) => to.client.sendMessageStream(SendMessageRequest.fromJSON(json), options),
  subscribe: (json, options) => to.client.resubscribeTask(SubscribeToTaskRequest.fromJSON(json), options),
};

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

async function run(id, operation, request, signal) {
  const end = { id, end: true };
  try {
    if (operation in operations) {
      say({ id, value: (await operations[operation](request, { signal })) ?? {} });
    } else {
      for await (const event of streams[operation](request, { signal })) say({ id, value: StreamResponse.toJSON(event) });
    }
  } catch (error) {
    // What a JSON-RPC stream refuses comes wrapped.
    const refused = error.cause instanceof A2AError ? error.cause : error;
    if (version === '0.3' && binding === 'HTTP+JSON' && /Status: 4\d\d/.test(error.message)) {
      // All that this client knows of a refusal is the status.
      say({ id, refused: { reason: 'untold', detail: '', message: error.message } });
    } else if (refused instanceof A2AError) {
      const { reason, message, data } = refused;
      // On HTTP+JSON and gRPC the client keeps the details from its user.
      const detail = Array.isArray(data) && data.find((d) => d.reason && d.reason !== reason)?.reason;
      say({ id, refused: { reason, message, detail: detail || '' } });
    } else if (!signal.aborted) {
      end.crash = `${error.stack}\n${error.cause?.stack ?? ''}`;
    }
  }
  say(end);
}

const running = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.break) {
    running.get(asked.id).abort();
    continue;
  }
  const stop = new AbortController();
  running.set(asked.id, stop);
  run(asked.id, asked.operation, asked.request, stop.signal);
}
process.exit(); // and not when connections that are kept open are closed
