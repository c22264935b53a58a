/// How much of a published design is done: all of it by default, and as much less or more as `--n` says in proportion to a million.
struct Sizes {
    let records: Int

    init(_ options: Options) { records = options.records }

    /// - Parameter least: below this a design makes no sense any more.
    func scaled(_ published: Int, least: Int = 1) -> Int {
        max(Int(Double(published) * Double(records) / 1_000_000), least)
    }
}
