/** Literal passwords: many people may read a resource, and the operator must never see a secret. */
import {
  literalPasswords,
  PASSWORD_FIX,
  PASSWORD_MESSAGE,
} from '../../dataplane/config/checks/upstreams/credentials.ts'
import { refuse } from '../../dataplane/config/judgement/problems.ts'
import type { ClusterCheck } from './contract.ts'

export const passwordsElsewhere: ClusterCheck = ({ gateway }) =>
  literalPasswords(gateway).map((path) => refuse(path, PASSWORD_MESSAGE, PASSWORD_FIX))
