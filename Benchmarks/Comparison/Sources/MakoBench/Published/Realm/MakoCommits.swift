import Dispatch
import Mako

final class MakoCommits: CrossThreadEngine {
    static let name = "Mako"

    private let database: Database
    private let object = MakoIntObject()
    private var listener: ChangeToken?
    private var followers: [LiveToken] = []

    init() throws {
        database = try Database.inMemory(entities: [MakoIntObject.self])
        try database.save(object)
    }

    func commit(_ count: Int) throws {
        for number in 1...count {
            object.intCol = number
            try database.save(object)
        }
    }

    func listen(_ told: @escaping @Sendable () -> Void) throws { listener = database.onUpdate { _ in told() } }

    func follow(on queue: DispatchQueue, _ seen: @escaping @Sendable (Int) -> Void) throws {
        followers.append(
            database.query(MakoIntObject.self).observe(on: queue) { outcome in
                switch outcome {
                case .success(let difference): seen(difference.results.first?.intCol ?? 0)
                case .failure(let error): print("Mako: \(error)")
                }
            })
    }

    func set(_ number: Int) throws {
        object.intCol = number
        try database.save(object)
    }

    func unfollow() { followers = [] }
    func close() throws { try database.close() }
}
