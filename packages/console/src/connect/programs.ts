/** Programs to copy. They are those of the documents, which tests run. */

/** The script of docs/instant-delivery.md. */
export const SHELL_LOOP = `#!/usr/bin/env bash
handle() { cat page.json >> leads.txt; echo >> leads.txt; }
ask() {
  : > headers.txt
  curl --silent --show-error --fail-with-body --max-time 80 --header "Authorization: Bearer $LEADTAP_TOKEN" \\
    --dump-header headers.txt --output page.json "$@" || explain
}
# No retry helps when the token or the address is wrong.
explain() {
  if grep --quiet '^HTTP/[^ ]* 40[0-7]' headers.txt; then cat page.json >&2; echo >&2; exit 1; fi
  return 1
}
link() { tr -d '\\r' < headers.txt | sed -n 's/^[Ll]ink: <\\(.*\\)>; rel="next"$/\\1/p'; }
page() { ask --header 'Prefer: wait=50' "$(cat next.url)" && test -n "$(link)"; }

until test -s next.url
do ask "$LEADTAP_URL/automation/new-leads" && link > next.url && test -s next.url || sleep 60
done

while true
do
  if page
  then
    # Each command of handle must succeed.
    test "$(cat page.json)" = '[]' || (set -e; handle)
    test $? = 0 || exit
    link > next.new && mv next.new next.url
    sleep 4
  else sleep 60
  fi
done
`;

/** The programs of docs/integrations/your-own-program.md. */
export const typeScriptProgram = (baseUrl: string): string => `import { appendFile } from 'node:fs/promises';
import { newLeads } from '@leadtap/client';
import { fileCheckpoint } from '@leadtap/client/file';

const baseUrl = '${baseUrl}';
const token = process.env.LEADTAP_TOKEN;
const checkpoint = fileCheckpoint('checkpoint.json');

async function handle(lead) {
  const line = [lead.createdAt, lead.fullName, lead.phone1, lead.email].join('\\t');
  await appendFile('leads.txt', \`\${line}\\n\`);
}

for await (const lead of newLeads({ baseUrl, token, checkpoint })) await handle(lead);
`;

export const pythonProgram = (
  baseUrl: string,
): string => `import asyncio, http.client, json, os, pathlib, re, sys, time, urllib.error, urllib.request

BASE_URL = '${baseUrl}'
TOKEN = os.environ['LEADTAP_TOKEN']
POSITION = pathlib.Path('next-url.txt')
NEW_POSITION = pathlib.Path('next-url.new')
PAUSE = 120


def poll(url):
    request = urllib.request.Request(url, headers={'Authorization': f'Bearer {TOKEN}'})
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        body = response.read().decode(errors='replace')
    if response.code in (400, 401, 403, 404):
        sys.exit(body)
    if response.code != 200:
        raise ValueError(f'{response.code} {body}')
    return json.loads(body), re.search(r'<([^<>]+)>; rel="next"', response.headers['Link'])[1]


def handle(lead):
    print(lead['createdAt'], lead['fullName'], lead['phone1'] or lead['email'] or '', flush=True)


def save(next_url):
    NEW_POSITION.write_text(next_url)
    NEW_POSITION.replace(POSITION)


while True:
    is_first = not POSITION.exists()
    url = f'{BASE_URL}/automation/new-leads' if is_first else POSITION.read_text()
    try:
        leads, next_url = poll(url)
    except (OSError, http.client.HTTPException, TypeError, ValueError) as error:
        print(f'no answer of Leadtap: {error}', file=sys.stderr, flush=True)
        time.sleep(PAUSE)
        continue
    for lead in leads if not is_first else []:
        result = handle(lead)
        if asyncio.iscoroutine(result):
            asyncio.run(result)
        save(f'{BASE_URL}/automation/new-leads?since={lead["createdAt"]}')
    save(next_url)
    if not is_first and len(leads) < 100:
        time.sleep(PAUSE)
`;

/** They check the signature of a webhook: the names of `headers` are in lower case, `body` is what arrived. */
export const NODE_VERIFICATION = `import { createHmac, timingSafeEqual } from 'node:crypto';

export function isOfLeadtap(secret, headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': at } = headers;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const hmac = createHmac('sha256', key).update(\`\${id}.\${at}.\`).update(body);
  const own = Buffer.from(\`v1,\${hmac.digest('base64')}\`);
  const isOwn = (it) => it.length === own.length && timingSafeEqual(it, own);
  const given = String(headers['webhook-signature']).split(' ');
  const isSigned = given.map((it) => Buffer.from(it)).some(isOwn);
  return isSigned && Math.abs(Date.now() / 1000 - at) < 300;
}
`;

export const PYTHON_VERIFICATION = `import base64, hmac, time

def is_of_leadtap(secret, headers, body):
    at = headers.get('webhook-timestamp', '')
    signed = f"{headers.get('webhook-id')}.{at}.".encode() + body
    key = base64.b64decode(secret.removeprefix('whsec_'))
    own = b'v1,' + base64.b64encode(hmac.digest(key, signed, 'sha256'))
    given = headers.get('webhook-signature', '').split()
    is_signed = any(hmac.compare_digest(own, it.encode()) for it in given)
    return is_signed and abs(time.time() - int(at)) < 300
`;
