/** Any name will do, as long as it is the same for all who are measured: the service puts it into its `Link`. */
const HOST = 'leads.example.com';
export const NEW_LEADS = '/automation/new-leads';

/** What an automation platform sends. */
export const pollRequest = (token: string, query: string, ...headers: readonly string[]): string =>
  [
    `GET ${NEW_LEADS}${query} HTTP/1.1`,
    `Host: ${HOST}`,
    'User-Agent: leadtap-bench',
    'Accept: application/json',
    'Content-Type: application/json',
    `Authorization: Bearer ${token}`,
    ...headers,
    '\r\n',
  ].join('\r\n');
