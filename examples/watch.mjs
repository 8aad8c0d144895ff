// Prints each new lead: `LEADTAP_TOKEN=… node examples/watch.mjs`. It keeps its position in watch.json.
import { newLeads } from '@leadtap/client';
import { fileCheckpoint } from '@leadtap/client/file';

const { LEADTAP_URL: baseUrl = 'http://127.0.0.1:3000', LEADTAP_TOKEN: token } = process.env;
const checkpoint = fileCheckpoint('watch.json');
const handle = async (lead) => console.log(lead.createdAt, lead.fullName, lead.phone1 ?? lead.email ?? '');
const onRetry = (error) => console.error(error.message);

for await (const lead of newLeads({ baseUrl, token, checkpoint, onRetry, intervalMs: 5_000 }))
  await handle(lead);
