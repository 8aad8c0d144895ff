// Refreshes /status: loads the page again and copies the differences, so that nodes, scroll position, selection and focus stay. Adds local
// times.
const REFRESH_MS = 5000;
const TIMEOUT_MS = 10_000;

/** As a document, not as text: Trusted Types then need no policy. */
function loadPage() {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', location.href);
    request.responseType = 'document';
    request.timeout = TIMEOUT_MS;
    request.onload = () => {
      if (request.status === 200 && request.response) resolve(request.response);
      else reject(new Error(`status ${request.status}`));
    };
    request.onerror = () => reject(new Error('no connection'));
    request.ontimeout = () => reject(new Error('no answer'));
    request.send();
  });
}

const keyOf = (node) => node.dataset?.key;

function patch(current, fresh) {
  if (current.nodeType !== Node.ELEMENT_NODE) {
    if (current.data !== fresh.data) current.data = fresh.data;
    return;
  }
  // The reader has opened it.
  for (const { name } of [...current.attributes])
    if (!fresh.hasAttribute(name) && name !== 'open') current.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  patchChildren(current, fresh);
}

/** Children with a key are matched by it, others by their place. */
function patchChildren(current, fresh) {
  const keys = new Set([...fresh.children].map(keyOf));
  const keyed = new Map();
  for (const child of [...current.children]) {
    const key = keyOf(child);
    if (key !== undefined && !keys.has(key)) child.remove();
    else if (key !== undefined) keyed.set(key, child);
  }
  let place = current.firstChild;
  for (const child of fresh.childNodes) {
    const key = keyOf(child);
    const isSameKind = place !== null && keyOf(place) === undefined && place.nodeName === child.nodeName;
    const match = key === undefined ? isSameKind && place : keyed.get(key);
    if (match) {
      if (match !== place) current.insertBefore(match, place);
      patch(match, child);
      place = match.nextSibling;
    } else {
      current.insertBefore(document.importNode(child, true), place);
    }
  }
  while (place !== null) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** Replaces what the page says of the state: the figures below are old. The next answer restores it. */
function showNoAnswer() {
  const time = document.querySelector('.refreshed time').textContent;
  const sentence = document.createElement('p');
  sentence.textContent = `This instance does not answer. The figures are of ${time}. Trying again every ${REFRESH_MS / 1000} seconds.`;
  const summary = document.querySelector('.summary');
  if (summary.textContent === sentence.textContent) return;
  const finding = document.createElement('div');
  finding.className = 'finding error';
  finding.append(sentence);
  summary.replaceChildren(finding);
  document.title = 'No answer: Leadtap status';
}

const pad = (number) => String(number).padStart(2, '0');
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const zoneFormat = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });
const zoneOf = (date) => zoneFormat.formatToParts(date).find(({ type }) => type === 'timeZoneName').value;

/** `10:31:05 GMT+1`, with the day if it is another one than in UTC. Undefined where the local time is UTC. */
function localText(date) {
  if (date.getTimezoneOffset() === 0) return undefined;
  const day = date.getDate() === date.getUTCDate() ? '' : `${date.getDate()} ${MONTHS[date.getMonth()]} `;
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(':');
  return `${day}${time} ${zoneOf(date)}`;
}

/** What the server cannot know. The loaded page gets the same before it is compared. */
function enhance(page) {
  for (const time of page.querySelectorAll('time')) {
    const local = localText(new Date(time.dateTime));
    if (local === undefined) continue;
    if (!time.matches('.exact')) {
      time.title += ` (${local})`;
      continue;
    }
    const text = page.createElement('span');
    text.className = 'local';
    text.textContent = `(${local})`;
    time.append(' ', text);
  }
}

let isLoading = false;

async function refresh() {
  if (isLoading) return;
  isLoading = true;
  try {
    const fresh = await loadPage();
    enhance(fresh);
    for (const part of ['main', '.refreshed time'])
      patch(document.querySelector(part), fresh.querySelector(part));
    document.title = fresh.title;
  } catch {
    showNoAnswer();
  } finally {
    isLoading = false;
  }
}

enhance(document);
// Also in a tab in the background, whose title has the number of problems. Browsers then run timers once a minute.
setInterval(refresh, REFRESH_MS);
document.addEventListener('visibilitychange', refresh);
