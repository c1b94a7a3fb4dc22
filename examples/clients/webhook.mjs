// Asks for a transfer and is called back when another person has decided:
//
//   SERVER=http://127.0.0.1:8080 API_KEY=... node webhook.mjs PAYEE
import { once } from 'node:events';
import { createServer } from 'node:http';
import { SendMessageRequest } from '@a2a-js/sdk';
import { client, ended, message, result } from './client.mjs';

const token = crypto.randomUUID();
let task;
const hook = createServer(async (request, response) => {
  if (request.headers['x-a2a-notification-token'] !== token) return response.writeHead(403).end();
  try {
    task = await client.getTask({ tenant: '', id: task.id }); // the call says that something changed
  } catch {
    return response.writeHead(503).end(); // the server calls again
  }
  response.writeHead(204).end();
  console.log('called back');
  if (ended(task)) hook.close();
}).listen(0, '127.0.0.1');
await once(hook, 'listening');

task = await client.sendMessage(SendMessageRequest.fromJSON({
  message: message(`/transfer_money amount=5 to=${process.argv[2]}`),
  configuration: { returnImmediately: true, taskPushNotificationConfig: { url: `http://127.0.0.1:${hook.address().port}/`, token } },
}));
await once(hook, 'close');
console.log(result(task));
