/** What the peers have in common: where the database is, and how they say that they listen. */
const { PORT = '0', DATABASE_URL = '' } = process.env;

export const port = Number(PORT);
export const file = DATABASE_URL.replace(/^sqlite:/, '');

export const announce = (server) => console.log(`listening at http://127.0.0.1:${server.address().port}`);
