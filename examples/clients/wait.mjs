// Asks for a transfer and waits, while another person decides:
//
//   SERVER=http://127.0.0.1:8080 API_KEY=... node wait.mjs PAYEE
import { SendMessageRequest } from '@a2a-js/sdk';
import { client, ended, message, result } from './client.mjs';

let events = client.sendMessageStream(SendMessageRequest.fromJSON({ message: message(`/transfer_money amount=5 to=${process.argv[2]}`) }));
let task;
while (!task || !ended(task)) {
  try {
    for await (const { payload } of events) {
      if (payload.$case === 'task') task = payload.value; // with its id another process can go on
      const [words] = payload.value.status?.message?.parts ?? [];
      if (words?.content?.$case === 'text') console.log(words.content.value.split('\n')[0]);
    }
  } catch (error) {
    if (!task) throw error;
    console.log(error.message); // the server restarts, a proxy has cut the stream, or the task has ended
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  task = await client.getTask({ tenant: '', id: task.id }).catch(() => task);
  events = client.resubscribeTask({ tenant: '', id: task.id });
}
console.log(result(task));
