/** Programs to copy. They are those of the documents, which tests run. */

/** The script of docs/instant-delivery.md. */
export const SHELL_LOOP = `handle() { cat page.json >> leads.txt; echo >> leads.txt; }
ask() { curl --silent --max-time 80 --header "Authorization: Bearer $LEADTAP_TOKEN" --dump-header headers.txt "$@"; }
link() { tr -d '\\r' < headers.txt | sed -n 's/^[Ll]ink: <\\(.*\\)>; rel="next"$/\\1/p'; }
pages() { ask --header 'Prefer: wait=50' --output page.json --write-out '%{http_code}' "$(cat next.url)"; }

until test -s next.url
do ask --head --fail --output page.json "$LEADTAP_URL/automation/new-leads" && link > next.url || sleep 60
done

while true
do
  if test "$(pages)" = 200 && test -n "$(link)"
  then
    test "$(cat page.json)" = '[]' || handle || exit
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

for await (const lead of newLeads({ baseUrl, token, checkpoint })) {
  const line = [lead.createdAt, lead.fullName, lead.phone1, lead.email].join('\\t');
  await appendFile('leads.txt', \`\${line}\\n\`);
}
`;

export const pythonProgram = (
  baseUrl: string,
): string => `import json, os, pathlib, re, sys, time, urllib.error, urllib.request

BASE_URL = '${baseUrl}'
TOKEN = os.environ['LEADTAP_TOKEN']
POSITION = pathlib.Path('next-url.txt')


def poll(url):
    request = urllib.request.Request(url, headers={'Authorization': f'Bearer {TOKEN}'})
    with urllib.request.urlopen(request, timeout=30) as response:
        next_url = re.search(r'<([^>]+)>; rel="next"', response.headers['Link'])[1]
        return json.load(response), next_url


def handle(lead):
    print(lead['createdAt'], lead['fullName'], lead['phone1'] or lead['email'] or '', flush=True)


while True:
    pause = 120
    try:
        if POSITION.exists():
            leads, next_url = poll(POSITION.read_text())
            for lead in leads:
                handle(lead)
            if len(leads) == 100:
                pause = 0
        else:
            next_url = poll(f'{BASE_URL}/automation/new-leads')[1]
            pause = 0
        POSITION.write_text(next_url)
    except urllib.error.HTTPError as error:
        print(error.read().decode(), file=sys.stderr, flush=True)
        if error.code in (400, 401, 403, 404):
            sys.exit(1)
    except (OSError, TypeError, ValueError) as error:
        print(f'no answer of Leadtap: {error}', file=sys.stderr, flush=True)
    time.sleep(pause)
`;
