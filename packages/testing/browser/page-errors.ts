import type { BrowserContext } from 'playwright-core';

/** Runs in every document before its own scripts. Reports of the policy arrive as errors on the console. */
const REPORT_POLICY_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('Content-Security-Policy: ' + event.effectiveDirective + ' refused ' + (event.blockedURI || event.sample)))`;

/** Responses with an error status from these paths are states that the page shows, and so is a failed request. */
const ENDPOINT = /\/(automation\/(new-leads|connections(\/[^?]+)?)|leads)(\?|$)/;
/** Chromium's message for what is reported here with the address. */
const FAILED_RESPONSE = /^Failed to load resource/;
/** The page itself, or its end, cancelled the request. */
const ABORTED = 'net::ERR_ABORTED';

/** These have no origin and cause no traffic. */
const LOCAL_URL = /^(data|blob|about|devtools|chrome-error):/;

export interface PageErrorOptions {
  /** Requests to another origin than this one are errors. */
  readonly origin: string;
  /** Messages that the test causes on purpose. */
  readonly expected?: RegExp;
}

/**
 * Collects what must not happen on any page: reports of the content security policy, errors on the console, uncaught
 * errors, failed downloads of the page's own files, and requests to other origins.
 */
export async function collectPageErrors(
  context: BrowserContext,
  { origin, expected }: PageErrorOptions,
): Promise<readonly string[]> {
  const errors: string[] = [];
  const add = (text: string): void => {
    if (!expected?.test(text)) errors.push(text);
  };
  await context.addInitScript(REPORT_POLICY_VIOLATIONS);
  context.on('console', (message) => {
    if (message.type() === 'error' && !FAILED_RESPONSE.test(message.text()))
      add(`console error: ${message.text()}`);
  });
  context.on('weberror', (webError) => {
    const error = webError.error();
    add(`uncaught error: ${error.stack ?? error.message}`);
  });
  context.on('request', (request) => {
    const url = request.url();
    if (!LOCAL_URL.test(url) && new URL(url).origin !== origin) add(`request to another origin: ${url}`);
  });
  context.on('response', (response) => {
    if (response.status() >= 400 && !ENDPOINT.test(response.url()))
      add(`status ${response.status()}: ${response.url()}`);
  });
  context.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? 'unknown';
    if (reason !== ABORTED && !ENDPOINT.test(request.url()))
      add(`failed request: ${request.url()} (${reason})`);
  });
  return errors;
}
