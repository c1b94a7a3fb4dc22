// Asks for a transfer and blocks until there is a result: node blocking.mjs PAYEE
import { SendMessageRequest } from '@a2a-js/sdk';
import { client, message, result } from './client.mjs';

console.log(result(await client.sendMessage(SendMessageRequest.fromJSON({ message: message(`/transfer_money amount=5 to=${process.argv[2]}`) }))));
