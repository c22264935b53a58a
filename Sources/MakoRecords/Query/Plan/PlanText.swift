/// What a plan says of itself: how rows are found, and how they are sorted where that is left to do.
struct PlanText: Sendable {
    let find: String
    var sort: String?

    var whole: String { find + (sort.map { ", " + $0 } ?? "") }
}
