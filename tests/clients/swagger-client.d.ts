/** As much of swagger-client as the test uses; it brings no types of its own. */
declare module 'swagger-client';
