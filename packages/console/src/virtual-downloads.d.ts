/** Made by vite.config.ts: the address of each file by its name. */
declare module 'virtual:downloads' {
  const urls: Readonly<Record<string, string>>;
  export default urls;
}
