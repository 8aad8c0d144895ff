/** Made by vite.config.ts: the path of each file, beside the script, by its name. */
declare module 'virtual:downloads' {
  const paths: Readonly<Record<string, string>>;
  export default paths;
}

/** Made by vite.config.ts of connect/platforms.ts. */
declare module 'virtual:platforms' {
  type Platform = import('./connect/platforms.ts').Platform;
  /** In their order. Nothing on a tile depends on what the service offers. */
  export const tiles: readonly Pick<Platform, 'id' | 'name' | 'summary' | 'runs'>[];
  /** Of the file with the steps, beside the script. */
  export const path: string;
}
