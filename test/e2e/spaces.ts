/** The namespaces of the tests. */

/** The namespace of the operator. */
export const SYSTEM = 'gw-system'
/** The namespace of gateways, models and clients. */
export const SPACE = 'ai'
/** The namespace of the monitoring. */
export const MONITORING = 'gw-monitoring'
