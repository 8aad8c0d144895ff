import { PLATFORM_LIST, PLATFORM_PACKAGES } from '@leadtap/contract';

/** The files of integrations that Connect offers as downloads: paths below `integrations`. */
export const DOWNLOADS: readonly string[] = PLATFORM_LIST.flatMap(({ id, downloads }) =>
  downloads.map((path) => `${id}/${path}`),
);

/** Packages that Connect offers as archives: folders that are built before the console. */
export const PACKAGES: readonly string[] = ['packages/client', ...PLATFORM_PACKAGES];
