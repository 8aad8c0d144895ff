/** Also the first step of `npm run build`: tools that it uses have their own messages for an old Node.js. */
import process from 'node:process';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`leadtap: needs Node.js 20.19 or later, but this is ${process.versions.node}\n`);
  process.exit(1);
}
