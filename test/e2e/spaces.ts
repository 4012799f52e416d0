/** The namespaces of the tests. */

/** Where the operator runs. */
export const SYSTEM = 'gw-system'
/** Where gateways, models and clients are. */
export const SPACE = 'ai'
