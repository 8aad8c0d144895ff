import asyncio, http.client, json, os, pathlib, re, sys, time, urllib.error, urllib.request

BASE_URL = 'https://leads.example.com'
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
