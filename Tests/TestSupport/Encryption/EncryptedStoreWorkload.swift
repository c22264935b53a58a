import MakoStorage

/// The random workloads of the storage engine on encrypted stores, changes of key among them.
public enum EncryptedStoreWorkload: RandomWorkload {
    public static let name = "encrypted store"
    public static var empty: ModelStore { ModelStore() }

    private static func cipher(_ plan: RoundPlan) -> Encryption.Cipher { .aesGCM }

    public static func session(on disk: SimulatedDisk, from state: ModelStore, plan: RoundPlan) -> StoreSession {
        StoreWorkload.session(on: disk, from: state, plan: plan, cipher: cipher(plan))
    }

    public static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>
    ) throws -> ModelStore? {
        try StoreWorkload.recover(on: disk, plan: plan, among: states, cipher: cipher(plan))
    }

    public static func openAgain(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ModelStore>
    ) -> AnyObject? {
        try? StoreWorkload.openAgain(on: disk, plan: plan, among: states, cipher: cipher(plan)).store
    }
}
