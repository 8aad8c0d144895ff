/** The files that platforms need, as downloads with the address of this service filled in. */
import paths from 'virtual:downloads';
import { baseUrl } from '../service.ts';
import { fillIn } from './fill-in.ts';

export const isDownload = (name: string): boolean => Object.hasOwn(paths, name);

export async function download(name: string): Promise<void> {
  const response = await fetch(new URL(paths[name] ?? '', import.meta.url));
  if (!response.ok) throw new Error(`status ${response.status}`);
  const link = document.createElement('a');
  const content = name.endsWith('.tgz')
    ? await response.blob()
    : new Blob([fillIn(name, await response.text(), baseUrl)]);
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
