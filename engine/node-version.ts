/** Says what is needed where Node.js is too old: its database driver would end the process without a word. Imported first. */
const NEEDED = 22;

const [major] = process.versions.node.split('.');
if (Number(major) < NEEDED) {
  process.stderr.write(
    `The service needs Node.js ${NEEDED} or later, and this is ${process.versions.node}: install a newer one, or use npm start and npx records, which bring their own\n`,
  );
  process.exit(1);
}
