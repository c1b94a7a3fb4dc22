// Asks for a transfer and looks every two seconds whether another person has decided:
//
//   SERVER=http://127.0.0.1:8080 API_KEY=... node poll.mjs PAYEE
import { SendMessageRequest } from '@a2a-js/sdk';
import { client, ended, message, result } from './client.mjs';

let task = await client.sendMessage(SendMessageRequest.fromJSON({
  message: message(`/transfer_money amount=5 to=${process.argv[2]}`),
  configuration: { returnImmediately: true },
}));
console.log(task.id, 'waits'); // any process, on any day, can go on from here
while (!ended(task)) {
  await new Promise((resolve) => setTimeout(resolve, 2000));
  try {
    task = await client.getTask({ tenant: '', id: task.id });
  } catch (error) {
    console.log(error.message); // the server restarts
  }
}
console.log(result(task));
