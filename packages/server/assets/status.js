// Refreshes /status: loads the page again and copies the differences, so that nodes, scroll position, selection and focus stay.
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
  for (const { name } of [...current.attributes])
    if (!fresh.hasAttribute(name)) current.removeAttribute(name);
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
  summary.className = 'summary problem';
  summary.replaceChildren(sentence);
  document.title = 'No answer: Leadtap status';
}

let isLoading = false;

async function refresh() {
  if (document.hidden || isLoading) return;
  isLoading = true;
  try {
    const fresh = await loadPage();
    for (const part of ['main', '.refreshed time'])
      patch(document.querySelector(part), fresh.querySelector(part));
    document.title = fresh.title;
  } catch {
    showNoAnswer();
  } finally {
    isLoading = false;
  }
}

setInterval(refresh, REFRESH_MS);
document.addEventListener('visibilitychange', refresh);
