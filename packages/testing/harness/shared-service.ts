import { type ServiceOptions, startService, type TestService } from './service.ts';
import { share } from './shared.ts';

/** One service for all tests of a `describe`, for tables whose rows leave no traces. */
export const shareService = (options: Omit<ServiceOptions, 'whenDone'> = {}): (() => TestService) =>
  share((whenDone) => startService({ ...options, whenDone }));
