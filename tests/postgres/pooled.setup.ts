/** The tests of this project reach the server through PgBouncer. */
Object.assign(process.env, {
  TEST_DIRECT_URL: process.env['TEST_POSTGRES_URL'],
  TEST_POSTGRES_URL: process.env['TEST_POOLER_URL'],
});
