// A client of the server at SERVER, with the key API_KEY, and the words of its tasks.
import { Task } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';

const fetchImpl = (url, init) => {
  const headers = new Headers(init?.headers);
  headers.set('X-API-Key', process.env.API_KEY);
  return fetch(url, { ...init, headers });
};
const factory = new ClientFactory({
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
});
export const client = await factory.createFromUrl(process.env.SERVER);

export const message = (text) => ({ messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] });
export const ended = (task) => /COMPLETED|FAILED|CANCELED|REJECTED/.test(Task.toJSON(task).status.state);
export function result(task) {
  const { status, artifacts = [] } = Task.toJSON(task);
  const parts = status.state === 'TASK_STATE_COMPLETED' ? artifacts.flatMap((artifact) => artifact.parts) : (status.message?.parts ?? []);
  return `${status.state} ${parts.map((part) => part.text ?? '').join('')}`;
}
