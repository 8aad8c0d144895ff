/** What calls the visitor back to the page: the count in title and icon, a desktop notification, a tone. */
import { computed, effect, signal } from '@preact/signals';
import { arrivedCount, leads } from './feed.ts';
import { focusDetail } from './leads/detail.tsx';
import { hiddenCount } from './leads/history.ts';
import { isPaused } from './leads/pause.ts';
import { itemOf } from './leads/selection.ts';
import { open } from './router.ts';
import { storedText } from './storage.ts';
import { formatCount } from './text.tsx';

/** How many leads had arrived when the page was last visible. */
const seenCount = signal(0);
const isHidden = signal(document.hidden);
document.addEventListener('visibilitychange', () => {
  seenCount.value = arrivedCount.value;
  isHidden.value = document.hidden;
  if (!document.hidden) notification?.close();
});

/** For title and icon, which are all that is visible of a tab in the background. */
export const newCount = computed(() => {
  if (isPaused.value) return hiddenCount.value;
  return isHidden.value ? Math.max(0, arrivedCount.value - seenCount.value) : 0;
});

const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
const plainIcon = icon?.getAttribute('href') ?? '';
const badgeText = computed(() => (newCount.value > 9 ? '9+' : String(newCount.value || '')));
effect(() => {
  const badge = `<circle cx='16' cy='16' r='8' fill='#c0301f'/><text x='16' y='20.2' fill='#fff' font-family='sans-serif' font-weight='700' font-size='${badgeText.value.length > 1 ? 10 : 12}' text-anchor='middle'>${badgeText.value}</text></svg>`;
  icon?.setAttribute(
    'href',
    badgeText.value === '' ? plainIcon : plainIcon.replace('%3C/svg%3E', encodeURIComponent(badge)),
  );
});

/** For this tab only: with two tabs of the console, one of them calls. Not about any person. */
const notifies = storedText('sessionStorage', 'leadtap-notify');
const sounds = storedText('sessionStorage', 'leadtap-sound');
const hasNotifications = isSecureContext && 'Notification' in window;
export const isNotifying = computed(
  () => notifies.value === 'on' && hasNotifications && Notification.permission === 'granted',
);
export const isSounding = computed(() => sounds.value === 'on');
/** Why notifications cannot be switched on; empty if they can, as far as is known. */
export const notificationProblem = signal('');

const BLOCKED =
  'Your browser blocks notifications of this page. Allow them in its settings for this page, then switch this on again.';
const UNAVAILABLE =
  'This browser shows no notifications here: they need https, and not all phones have them.';

export async function setNotifying(isOn: boolean): Promise<void> {
  notifies.value = '';
  notificationProblem.value = '';
  if (!isOn) return;
  const permission = hasNotifications ? await Notification.requestPermission() : 'denied';
  if (permission === 'granted') notifies.value = 'on';
  else if (permission === 'denied') notificationProblem.value = hasNotifications ? BLOCKED : UNAVAILABLE;
}

export function setSounding(isOn: boolean): void {
  sounds.value = isOn ? 'on' : '';
  if (isOn) playTone();
}

let audio: AudioContext | undefined;
const TONE_S = 0.3;

function playTone(): void {
  // Browsers play nothing before the first click or key.
  if (!navigator.userActivation.hasBeenActive) return;
  audio ??= new AudioContext();
  void audio.resume();
  const volume = audio.createGain();
  volume.gain.setValueAtTime(0.2, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + TONE_S);
  const tone = audio.createOscillator();
  tone.frequency.value = 660;
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + TONE_S);
}

let notification: Notification | undefined;
// It would stay after the page is closed.
addEventListener('pagehide', () => notification?.close());

/** How many, not who: others may see the screen, and systems keep what was shown. */
function notify(): void {
  const count = newCount.value;
  const [newest] = leads.value;
  notification?.close();
  try {
    notification = new Notification(formatCount(count, 'new lead'));
  } catch {
    // On phones only installed pages have them.
    void setNotifying(false);
    notificationProblem.value = UNAVAILABLE;
    return;
  }
  notification.onclick = () => {
    window.focus();
    open('leads', newest && itemOf(newest));
    focusDetail();
    notification?.close();
  };
}

/** Leads that arrive together are announced together. */
const COLLECT_MS = 1000;
const MIN_INTERVAL_MS = 15_000;
let announcedCount = 0;
let announcedAt = -MIN_INTERVAL_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

function announce(): void {
  timer = undefined;
  if (isPaused.value || arrivedCount.value <= announcedCount) return;
  announcedCount = arrivedCount.value;
  const isNotified = isNotifying.value && newCount.value > 0;
  if (isSounding.value) playTone();
  if (isNotified) notify();
  if (isSounding.value || isNotified) announcedAt = performance.now();
}

effect(() => {
  // Another token.
  if (arrivedCount.value === 0) announcedCount = 0;
  if (arrivedCount.value <= announcedCount || timer !== undefined) return;
  timer = setTimeout(announce, Math.max(COLLECT_MS, announcedAt + MIN_INTERVAL_MS - performance.now()));
});
