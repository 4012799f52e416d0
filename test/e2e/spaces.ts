/** The namespaces of the tests. */

/** Where the operator runs. */
export const SYSTEM = 'gw-system'
/** Where gateways, models and clients are. */
export const SPACE = 'ai'
/** Where what watches over them is. */
export const MONITORING = 'gw-monitoring'
