import MakoCore
import MakoTestSupport

/// Random workloads of the object layer: objects with relations, saved, changed, removed and rolled back, against plain values.
package enum ObjectRandomRun: RandomWorkload {
    package static let name = "objects"
    package static var empty: ObjectSession.State { ObjectSession.State(RecordModel()) }

    package static func session(
        on disk: SimulatedDisk, from state: ObjectSession.State, plan: RoundPlan
    ) -> ObjectSession {
        ObjectSession(on: disk, from: state.file, plan)
    }

    package static func recover(
        on disk: SimulatedDisk, plan: RoundPlan, among states: ArraySlice<ObjectSession.State>
    ) throws -> ObjectSession.State? {
        try RecordModel.found(on: disk, plan: plan, among: states.map(\.file)).map { ObjectSession.State($0) }
    }
}

extension MakoError: DiskFailure {
    package var isDiskFailure: Bool {
        switch self {
        case .storage(let error): error.isDiskFailure
        case .readOnly: true
        default: false
        }
    }
}
