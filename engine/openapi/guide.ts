/** What a reader of the document should know before the operations: once, instead of at each of them. */
export const GUIDE = `Every record type has the same operations, under the same rules.

**Lists.** \`_cnd[limit]\` takes the offset and the limit: \`_cnd[limit]=0&_cnd[limit]=20\`. \`_cnd[orderBy]\` takes
fields, each optionally followed by \`asc\` or \`desc\`. \`_cnd[field]=value\` and \`_cnd[field][operator]=value\` filter;
dots lead through relations to one record, for filters as for the order: \`_cnd[owner.name]=Anna\`. To read to the end
follow the \`next\` links of the \`Link\` header.

**Records** show their relations one level deep; \`include\` and \`fields\` show more or less. What GET answers can be
sent back by PUT.

**Writes** change the keys that are there. Related records are linked by their identifier, made without one, and unlinked
by null; nothing unknown is ignored. Each request is one transaction.

**Decimals** are strings, answered as they were written.

**Entity tags.** \`If-None-Match\` saves reading again what is known; \`If-Match\` keeps two writers from overwriting each
other.

**Problems** are answered as \`application/problem+json\`, with every fault and its place.

HEAD is wherever GET is, and OPTIONS answers the methods of a path.
`;
