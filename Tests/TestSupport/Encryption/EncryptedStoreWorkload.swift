import MakoStorage

/// The random workloads of the storage engine on encrypted stores, changes of key among them.
package enum EncryptedStoreWorkload: RandomWorkload {
    package static let name = "encrypted store"
    package static var empty: ModelStore { ModelStore() }

    private static func cipher(_ plan: RoundPlan) -> Encryption.Cipher { .aesGCM }

    package static func session(on disk: SimulatedDisk, from state: ModelStore, plan: RoundPlan) -> StoreSession {
        StoreWorkload.session(on: disk, from: state, plan: plan, cipher: cipher(plan))
    }

    package static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>
    ) throws -> ModelStore? {
        try StoreWorkload.recover(on: disk, plan: plan, among: states, cipher: cipher(plan))
    }

    package static func openAgain(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>
    ) -> AnyObject? {
        try? StoreWorkload.openAgain(on: disk, plan: plan, among: states, cipher: cipher(plan)).store
    }
}
