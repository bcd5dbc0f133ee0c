/** Explains that Node.js is too old; the database driver would crash without a message. Imported first. */
const NEEDED = 22;

const [major] = process.versions.node.split('.');
if (Number(major) < NEEDED) {
  process.stderr.write(
    `The service needs Node.js ${NEEDED} or later, but this is ${process.versions.node}. Install a newer one, or use npm start and npx records, which have their own\n`,
  );
  process.exit(1);
}
