// Asks for a transfer and blocks until there is a result, also while the server restarts: node blocking.mjs PAYEE
import { SendMessageRequest } from '@a2a-js/sdk';
import { client, message, result } from './client.mjs';

const request = SendMessageRequest.fromJSON({ message: message(`/transfer_money amount=5 to=${process.argv[2]}`) });
for (let task; !task; ) {
  try {
    task = await client.sendMessage(request);
    console.log(result(task));
  } catch (error) {
    console.log(error.message); // the same message, repeated, waits for the same task
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
