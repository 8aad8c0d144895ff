/** The endpoints as plain Node listeners, for an application that has its own HTTP server. */
import { LEADS_PATH, NEW_LEADS_PATH } from '@leadtap/contract';
import { createHandler, type MountOptions, type RequestHandler } from './http/endpoint.ts';
import { createIntakeEndpoint, type IntakeOptions } from './intake/endpoint.ts';
import { createUnidentifiedRecorder } from './intake/unidentified.ts';
import { AccountCache } from './poll/cache/account-cache.ts';
import { createPollEndpoint, type PollEndpointOptions } from './poll/endpoint.ts';

export interface PollHandlerOptions extends Omit<PollEndpointOptions, 'schedule'>, MountOptions {}

export interface IntakeHandlerOptions extends IntakeOptions, MountOptions {}

/** `GET {base_url}/automation/new-leads`. Answers every request that it receives: routing by path is up to the caller. */
export function createPollHandler(options: PollHandlerOptions): RequestHandler {
  const endpoint = createPollEndpoint(options, new AccountCache(options.store.changeTracking));
  return createHandler(`${options.basePath ?? ''}${NEW_LEADS_PATH}`, [endpoint], options);
}

/** `POST {base_url}/leads`. It reads the body itself: mount it before body parsers. */
export function createIntakeHandler(options: IntakeHandlerOptions): RequestHandler {
  const endpoint = createIntakeEndpoint(options, new AccountCache(options.store.changeTracking));
  const onUnidentified = createUnidentifiedRecorder(options);
  return createHandler(`${options.basePath ?? ''}${LEADS_PATH}`, [endpoint], { ...options, onUnidentified });
}
