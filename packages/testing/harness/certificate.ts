import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate that signs itself. */
export function makeCertificate(folder: string, name: string) {
  const [keyFile, certFile] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, ...subject], { stdio: 'ignore' });
  return { key: readFileSync(keyFile), cert: readFileSync(certFile), certFile };
}
